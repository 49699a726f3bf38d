# expect: sandbox_violation
# mode: script
import ctypes,os
ctypes.CDLL(None).setns(os.pidfd_open(os.getpid()),0x20000000)
