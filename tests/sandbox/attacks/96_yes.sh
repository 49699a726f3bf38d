# about: output without end through a pipe
# wall: 20
# expect: output_limit
yes | cat
