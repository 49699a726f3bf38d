# expect: exception
# expect-landlock: exception|output_limit
# mode: script
i=0
while True:
    open("i%d"%i,"w").close(); i+=1
