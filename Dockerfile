# Each package is downloaded in the version and with a hash of the lock, which constrains what pyproject.toml asks for.
# Wheels only: an sdist would run code, and fetch build tools, that no hash covers.
FROM python:3.13-slim AS dependencies
WORKDIR /build

# What is needed at run time is a layer of its own, which stays cached while only the source changes.
COPY pyproject.toml requirements.lock ./
RUN python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
        print(*project['dependencies'], *(name for extra in ('cluster', 'fast', 'postgres', 'metrics', 'figures') \
              for name in project['optional-dependencies'][extra]), sep='\n')" > runtime.txt \
    && python -m venv --without-pip /opt/gainboard \
    && pip --python /opt/gainboard/bin/python install --require-hashes --only-binary :all: \
        --constraint requirements.lock --requirement runtime.txt

FROM dependencies AS application
RUN pip install --require-hashes --only-binary :all: --constraint requirements.lock hatchling
COPY LICENSE README.md CHANGELOG.md ./
COPY benchmarks/README.md benchmarks/README.md
COPY deploy deploy
COPY docs docs
COPY scripts scripts
COPY migrations migrations
COPY app app
RUN pip wheel --no-index --no-deps --no-build-isolation --wheel-dir wheels . \
    && pip --python /opt/gainboard/bin/python install --no-index --no-deps --prefix /opt/application wheels/*

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home gainboard \
    && install --directory --owner gainboard --mode 0750 /data /backups
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
