set -e -o pipefail
d=$(mktemp -d)
cd "$d"
for i in 3 1 2; do echo "$i" > f$i; done
test "$(cat f* | sort -rn | head -n 1)" = 3
test "$(seq 100 | awk '{s+=$1} END {print s}')" = 5050
printf 'a b\nc d\n' | cut -d' ' -f2 | paste -sd, | tr b x > o
test "$(cat o)" = x,d
sed -i s/x/y/ o
grep -c y o | tee count > /dev/null
find . -name 'f*' -exec ls -l {} + | wc -l > lines
cp -r . ../copy-$$ 2>/dev/null || true
rm -rf ../copy-$$
cp f1 f9; mv f9 f8; ln -s f8 l; ln f8 h; readlink -f l > /dev/null; rm f8
touch f1; chmod 755 f1; mkdir -p a/b; rmdir a/b
mkfifo p; (echo through > p &); test "$(cat p)" = through
tar cf - f1 f2 | tar tf - | wc -l > /dev/null
gzip -c f2 | gunzip > g2; cmp f2 g2; diff f1 f2 > /dev/null || true
echo a b c | xargs -n 1 echo | uniq | wc -l > /dev/null
timeout 5 sleep 0.01; sleep 0.01 & wait $!
trap 'echo trapped > t' USR1; kill -USR1 $$; test -f t
md5sum f1 > /dev/null; sha256sum f1 > /dev/null; split -l 1 o; shuf -i 1-3 > /dev/null
dd if=/dev/zero of=dd bs=1k count=2 2> /dev/null; truncate -s 10 f1; sync; stat f1 > /dev/null; du -s . > /dev/null
exec 9> lock; flock 9; flock -u 9
id -u > /dev/null; nproc > /dev/null; uname -a > /dev/null; date > /dev/null; env | wc -l > /dev/null; nice -n 1 true; nohup true 2> /dev/null
read -r line < f2; coproc cat; echo "$line" >&"${COPROC[1]}"; read -r back <&"${COPROC[0]}"; test "$back" = 2
test "$(cat <(echo sub))" = sub
cd /; rm -r "$d"
echo well
