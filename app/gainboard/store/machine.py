"""The machine of a service: its clock, and its source of what nobody can guess. A test gives it another one."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

SECRET_BYTES = 32


@dataclass(frozen=True)
class Machine:
    """The clock, in UTC, and the source of random bytes."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random_bytes: Callable[[int], bytes] = os.urandom

    def new_uuid(self) -> str:
        """Return a uuid of version 4."""
        return str(UUID(bytes=self.random_bytes(16), version=4))

    def new_secret(self) -> str:
        """Return 256 random bits as text that fits into an address."""
        return urlsafe_b64encode(self.random_bytes(SECRET_BYTES)).rstrip(b"=").decode()
