# expect: timeout
# wall: 1
# mode: script
import re
re.match(r"(a+)+$","a"*40+"b")
