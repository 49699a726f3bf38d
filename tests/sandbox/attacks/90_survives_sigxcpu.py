# about: catches the signal that its processor time is used up
# wall: 1
# expect: timeout
import signal
signal.signal(signal.SIGXCPU, lambda *a: None)
while True: pass
