# about: leaves links to outside in its folder, so that whoever clears the folder might follow them
# expect: passed|exception
import os
folder = os.path.dirname('@BAIT@')
os.symlink(folder, 'link'); os.symlink('@BAIT@', 'file'); os.symlink('/usr', 'usr'); os.symlink('.', 'self')
os.makedirs('a/b'); os.symlink('../..', 'a/b/up'); os.symlink(folder, 'a/b/out')
