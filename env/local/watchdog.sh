# Arguments: the name of the marker variable, the mark, the private directory.
name=$1 mark=$2 dir=$3
trap '' HUP INT QUIT TERM TSTP PIPE

groups=
while read -r verb arg; do
	case $verb in
	bye) exit 0 ;;
	began) groups="$groups $arg" ;;
	ended)
		rest=
		for g in $groups; do
			[ "$g" = "$arg" ] || rest="$rest $g"
		done
		groups=$rest
		;;
	esac
done

# The pipe has ended, so the host is gone. From here on: find and kill.
if [ ! -r /proc/self/environ ]; then
	how=ps
elif grep -qsF reins-probe "/proc/$$/environ"; then
	how=grep
else
	how=each
fi

marked() {
	case $how in
	grep)
		for f in $(grep -lsF "$mark" /proc/[0-9]*/environ); do
			f=${f#/proc/}
			echo "${f%/environ}"
		done
		;;
	each)
		for p in /proc/[0-9]*; do
			tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qF "$mark" && echo "${p#/proc/}"
		done
		;;
	ps)
		{ ps -axwwE -o pid=,command= || ps -axwwe -o pid=,command=; } 2>/dev/null |
			while read -r pid rest; do
				case $rest in
				*"$name="*"$mark"*) echo "$pid" ;;
				esac
			done
		;;
	esac
}

# What threw its environment away is still in a process group with something that did not. Only
# groups of our own making count: their first process carries the mark or is gone.
families=
family_of() {
	family=
	read -r line <"$1" || return
	set -- ${line##*)}
	case $1:$3 in
	[ZX]:* | *:0 | *:1 | *: | *:*[!0-9]*) return 1 ;;
	esac
	family=$3
}
learn_families() {
	all=" "
	for p in $1; do
		all="$all$p "
	done
	for p in $1; do
		family_of "/proc/$p/stat" || continue
		case "$families " in
		*" $family "*) continue ;;
		esac
		case $all in
		*" $family "*) ;;
		*) [ ! -e "/proc/$family" ] || continue ;;
		esac
		families="$families $family"
	done
}
in_families() {
	for f in /proc/[0-9]*/stat; do
		family_of "$f" || continue
		case "$families " in
		*" $family "*)
			f=${f#/proc/}
			echo "${f%/stat}"
			;;
		esac
	done
}

for g in $groups; do
	kill -9 "-$g"
done
# A process has no variables while it replaces its program, so there is a pause between two looks.
clean=0 round=0
while [ $clean -lt 2 ] && [ $round -lt 200 ]; do
	round=$((round + 1))
	pids=$(marked)
	if [ "$how" != ps ]; then
		learn_families "$pids" 2>/dev/null
		[ -z "$families" ] || pids="$pids $(in_families 2>/dev/null)"
		pids=${pids# }
	fi
	if [ -z "$pids" ]; then
		clean=$((clean + 1))
	else
		clean=0
		kill -9 $pids
	fi
	[ $clean -eq 2 ] || sleep 0.02 || sleep 1
done
case ${dir##*/} in
reins-*) rm -rf -- "$dir" ;;
esac
