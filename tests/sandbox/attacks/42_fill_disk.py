# expect: exception
# expect-landlock: exception|output_limit
# mode: script
i=0
while True:
    open("f%d"%i,"wb").write(b"x"*(10**7)); i+=1
