"""File rights of another user: a thread opens files as that user, while the worker keeps its own rights.

The kernel keeps rights per thread. The functions of the C library that change user and groups change all threads,
except `setfsuid` and `setfsgid`. So the groups are changed by the system call itself.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kron.launchers.command.rights import Rights

T = TypeVar("T")

_SETGROUPS = {"x86_64": 116, "aarch64": 159, "riscv64": 159, "ppc64le": 81, "s390x": 206}  # numbers of the system call
_UNCHANGED = 0xFFFFFFFF  # not a valid id: setfsuid and setfsgid return the current id


def with_file_rights(rights: Rights, function: Callable[[], T]) -> T:
    """Call a function in a new thread whose file operations have the rights of a user. The thread ends with the call.

    Nothing is restored, so that no failure leaves a thread with the wrong rights.

    Raises:
        PermissionError: This worker is not root, or the kernel did not change the rights.
    """

    def call() -> T:
        _take(rights)
        return function()

    with ThreadPoolExecutor(1, "kron-file-rights") as executor:
        return executor.submit(call).result()


def _take(rights: Rights) -> None:
    """Give this thread the file rights of a user. The kernel takes away the capabilities of root for files."""
    number = _SETGROUPS.get(platform.machine()) if sys.maxsize > 1 << 32 else None
    if os.geteuid() != 0 or number is None:
        raise PermissionError(f"this worker cannot open files as user {rights.name}: it needs root on 64-bit Linux")
    library = ctypes.CDLL(None, use_errno=True)
    groups = (ctypes.c_uint32 * len(rights.groups))(*rights.groups)
    if library.syscall(ctypes.c_long(number), ctypes.c_long(len(groups)), groups):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    for change, wanted in ((library.setfsgid, rights.gid), (library.setfsuid, rights.uid)):
        change.argtypes = [ctypes.c_uint32]
        change.restype = ctypes.c_uint32
        change(wanted)
        if change(_UNCHANGED) != wanted:
            raise PermissionError(f"this worker cannot open files as user {rights.name}")
