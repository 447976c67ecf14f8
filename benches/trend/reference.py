"""reference.py DUMP OUT MICRO_STEP: what `msprobe data2db` does, as a library call."""

import logging
import sys

from msprobe.core.compare.data2db import DBImporter

logging.disable(logging.CRITICAL)
dump, out, micro_step = sys.argv[1:4]
DBImporter(out, dump, "dump", None, micro_step, 1).import_data()
