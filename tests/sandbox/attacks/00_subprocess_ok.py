# expect: passed
# mode: script
import subprocess
assert subprocess.run(["/bin/echo","x"],capture_output=True,text=True).stdout=="x\n"
