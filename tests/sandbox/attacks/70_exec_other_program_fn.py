# about: another interpreter takes over the channel and answers for calls it does not know
# mode: fn
# expect: forged|wrong_answer|exited
# expect-landlock: forged|wrong_answer|exited|exception|crashed(SIGKILL)|sandbox_violation
import os, sys
program = '''
import os
for fd in range(3, 64):
    try: os.write(fd, b'{"ready": true}\\n{"i": 0, "v": 41}\\n')
    except OSError: pass
'''
for fd in range(3, 64):
    try: os.set_inheritable(fd, True)
    except OSError: pass
os.execv(os.path.realpath(sys.executable), ['python3', '-S', '-c', program])
