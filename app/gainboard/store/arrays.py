"""Arrays and names as compact bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.trec.bodies import compress, decompress


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the named arrays as compressed bytes, little-endian on every machine."""
    # Workers on other machines, and other databases after a restore, read the same bytes.
    shapes = {name: (array.dtype.newbyteorder("<").str, *array.shape) for name, array in arrays.items()}
    data = [array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes() for array in arrays.values()]
    return compress(b"\n".join((json.dumps(shapes).encode(), b"".join(data))))


def unpack(packed: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` was given; they are read-only."""
    return arrays_of(decompress(packed))


def arrays_of(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of packed bytes that are decompressed already. Raise ValueError or TypeError for others."""
    # JSON has no line feed in it.
    header, data = content.split(b"\n", 1)
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, (dtype, *shape) in json.loads(header).items():
        # Views of the bytes: a judged run is read for every request that scores it, so nothing is copied.
        flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=offset)
        arrays[name] = flat.reshape(shape)
        offset += arrays[name].nbytes
    return arrays


def pack_all(groups: Sequence[Mapping[str, NDArray[Any]]]) -> bytes:
    """Return several groups of named arrays as compressed bytes."""
    return pack({f"{number}/{name}": array for number, group in enumerate(groups) for name, array in group.items()})


def unpack_all(packed: bytes) -> list[dict[str, NDArray[Any]]]:
    """Return the groups that `pack_all` was given, without empty ones."""
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in unpack(packed).items():
        number, name = key.split("/", 1)
        groups.setdefault(number, {})[name] = array
    return list(groups.values())


def pack_names(names: Sequence[str]) -> bytes:
    """Return the names, which contain no line end, as compressed bytes."""
    return compress("\n".join(names).encode())


def unpack_names(packed: bytes) -> list[str]:
    """Return the names that `pack_names` was given."""
    text = decompress(packed).decode()
    return text.split("\n") if text else []
