# Generated when the wheel is built: see capi/python/declarations.py.
from typing import Any

ffi: Any
