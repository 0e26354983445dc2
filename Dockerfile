# The lock's hashes are checked once, in this download; every later step installs from that folder alone and so
# gets the locked versions. Wheels only: an sdist would run code, and fetch build tools, that no hash covers.
FROM python:3.13-slim AS dependencies
WORKDIR /build
COPY requirements.lock ./
RUN pip download --require-hashes --no-deps --only-binary :all: --dest wheels --requirement requirements.lock

# Of the lock's packages the image gets what pyproject.toml says is needed at run time. They are a layer of their
# own, which stays cached while only the source changes.
COPY pyproject.toml ./
RUN python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
        print(*project['dependencies'], *(name for extra in ('cluster', 'fast', 'postgres', 'metrics', 'figures') \
              for name in project['optional-dependencies'][extra]), sep='\n')" > runtime.txt \
    && python -m venv --without-pip /opt/gainboard \
    && pip --python /opt/gainboard/bin/python install --no-index --find-links wheels --requirement runtime.txt

FROM dependencies AS application
COPY LICENSE README.md ./
COPY migrations migrations
COPY app app
RUN pip --python /opt/gainboard/bin/python install --no-index --find-links wheels --no-deps --prefix /opt/application .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home gainboard \
    && install --directory --owner gainboard --mode 0750 /data
COPY --from=dependencies /opt/gainboard /opt/gainboard
COPY --from=application /opt/application /opt/gainboard

# One BLAS thread: the server has one process per core already. Without a home, figures would list the fonts anew
# in each process.
ENV PATH=/opt/gainboard/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    MPLCONFIGDIR=/tmp/matplotlib \
    GAINBOARD_DATA=/data
USER gainboard
# Compiled ahead, into what a named volume begins with; a server on another processor compiles anew by itself.
RUN /opt/gainboard/bin/gainboard warm --data /data
VOLUME /data
EXPOSE 8000

# Without the empty handler, an HTTP_PROXY of the container's environment would be asked for 127.0.0.1.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", \
    "from urllib.request import ProxyHandler, build_opener; \
    build_opener(ProxyHandler({})).open('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["gainboard", "serve", "--host", "0.0.0.0"]
