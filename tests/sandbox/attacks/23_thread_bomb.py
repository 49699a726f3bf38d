# expect: exception|memory_limit|timeout
# expect-landlock: exception|memory_limit|timeout|sandbox_violation
# wall: 1
# mode: script
import threading,time
l=[]
while True:
    t=threading.Thread(target=time.sleep,args=(100,)); t.start(); l.append(t)
