# expect: passed
# mode: script
import os,time,sys
if os.fork()==0:
    os.setsid()
    if os.fork()==0:
        while True:
            try: open("/tmp/alive","a").write("x")
            except Exception: pass
            time.sleep(0.01)
    os._exit(0)
