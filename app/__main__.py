"""`python -m app` is the `gainboard` command."""

import sys

from app.cli import main

sys.exit(main())
