/*
 * What threads of watched processes do. Two ways of use, over the same threads:
 *
 * Holds (`every` is 0): sched_switch is always attached. A thread that goes to sleep in its poll ends its
 * turn, one that wakes there begins one. `received` is always attached as well: it remembers whose request
 * a turn read last. `exited` and `sent` are attached by user space while a turn is suspiciously long: then
 * polls that do not sleep are seen, and bytes are counted by connection. `held` is there while one is a
 * hold: it samples the stacks of who runs in it. Where a turn sleeps, its stack is taken before.
 *
 * Every step (`every` is 1): each return of each call. Calls that move bytes are gathered in slots, in
 * their order, and told when the poll returns: what they mean, user space works out.
 *
 * Times are CLOCK_MONOTONIC in ns. Ids are those of the PID namespace `ns_inum`; 0: of the first one.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile u32 every = 0;
const volatile u32 ns_inum = 0;
const volatile u64 threshold = 0;

/* Classes of calls, by number, filled in by user space. */
#define POLL 1
#define EPOLL 2
#define IN 3
#define OUT 4
#define SPLICE 5
#define ACCEPT 6
#define CONNECT 7
#define CLOSE 8
#define FUTEX 9

#define CALLS 512
#define THREADS 16384
#define BOARD 4096
#define SLOTS 4
#define FLOWS 8
#define BUCKETS 36
#define LONG 5000000
#define SUSPECTED 20000000
#define LATE 40000000
#define DEEP 2 /* TASK_UNINTERRUPTIBLE, include/linux/sched.h */

struct ends {
	u8 local[16], remote[16];
	u16 local_port, remote_port, family, state;
};

/* A run of calls of one number on one descriptor. */
struct slot {
	u64 sk;
	u64 bytes;
	u64 first; /* return of the first that moved bytes, or of the first */
	u64 last; /* return of the last */
	u32 fd;
	u32 data; /* calls that moved bytes */
	u32 other; /* calls that did not */
	u16 nr;
	u8 kind; /* class, and what the descriptor is << 4: 1 TCP, 2 file, 3 other */
	u8 came; /* of the last call: 0 bytes, 1 EAGAIN, 2 none, 3 error; << 4: a bit for each that came */
};

#define E_SEGMENT 1
#define E_POLLED 2
#define E_BEGUN 3
#define E_ACCEPTED 4
#define E_CONNECTED 5
#define E_SOCKET 6
#define E_CLOSED 7
#define E_SLEPT 8
#define E_SLEPT_DEEP 9 /* the same, uninterruptible */

struct event {
	u32 kind;
	u32 tid;
	u64 at;
	u64 cpu;
	u64 delay; /* as `delay` of its thread */
	u64 deep; /* as `deep` of its thread */
	u64 a;
	u64 b;
	u32 c;
	u32 slots;
};

struct thread {
	u64 on; /* on a CPU since; 0: it is not */
	u64 cpu; /* CPU time before that */
	u64 off; /* off it since */
	u64 began; /* of the turn under way; 0: there is none, or none was seen to begin */
	u64 cpu_before;
	u64 delay; /* time without a CPU that it wanted, as of its last leave */
	u64 delay_before;
	u64 slept; /* its longest sleep in this turn */
	u64 poll_off; /* when it fell asleep in the poll it is in */
	u64 flushed;
	u64 total;
	u64 ran; /* time on a CPU by the kernel's own count, as of its last leave */
	u64 alone_sk; /* the socket read last while the hooks rest, and since when no other was */
	u64 alone;
	u64 deep; /* all its short sleeps that were uninterruptible: long ones are told one by one */
	u32 pid;
	u32 tid;
	u32 slept_in;
	u32 off_in;
	u32 off_fd;
	u8 asleep; /* in which state of the kernel */
	u8 epolls; /* it was seen in an epoll: a poll(2) of it is no return to the loop */
	u8 woken; /* it woke in its poll, and has not returned from it yet */
	u8 delay_known;
	struct ends asked; /* the connection that was read last before the turn was suspected */
	u64 turns[BUCKETS];
	struct event segment;
	struct slot slot[SLOTS];
};

struct flow {
	u64 sk;
	u64 read;
	u64 written;
	struct ends ends;
};

struct moved {
	u64 began;
	u64 elsewhere;
	struct flow flow[FLOWS];
};

struct hold {
	u32 late; /* it is counted from when the hooks were attached */
	u32 tid;
	u32 pid;
	u32 slept_in;
	u64 began;
	u64 ended;
	u64 cpu;
	u64 delay;
	u64 slept;
	char comm[16];
	struct ends asked;
	struct moved moved;
};

#define FRAMES 32
#define STACK_SAMPLE 2 /* where a hold has `late` */

/* Where a thread was in a turn. Frames are return addresses, the innermost first. */
struct stack_sample {
	u32 kind;
	u32 tid;
	u32 pid;
	u16 kernel_frames;
	u16 user_frames;
	u64 began; /* of its turn */
	u64 at;
	u64 slept; /* 0: it ran */
	u64 kernel[FRAMES];
	u64 user[FRAMES];
};

struct armed {
	u64 since; /* when the hooks of holds were attached; 0: they are not */
	u64 rests; /* not 0: they rest after a false alarm */
	u64 polls; /* that did not sleep, and ended a turn since */
};

/* The last read of a turn: the next of the same socket tells nothing new while no hook is attached. */
struct last_read { u64 began, sk, rests; };

struct call { u64 count, asleep, samples; };
struct of_call { u32 tid, nr; };
struct board { u64 began[BOARD]; };

#define MAP(map_name, map_type, key_type, value_type, entries, map_flags_)                     \
	struct {                                                                                   \
		__uint(type, map_type);                                                                \
		__uint(max_entries, entries);                                                          \
		__uint(map_flags, map_flags_);                                                         \
		__type(key, key_type);                                                                 \
		__type(value, value_type);                                                             \
	} map_name SEC(".maps")

/* By the id in `ns_inum`: 1 a process, with all its threads; 2 a thread. */
MAP(watched, BPF_MAP_TYPE_HASH, u32, u32, THREADS, 0);
/* By the kernel's own id. */
MAP(threads, BPF_MAP_TYPE_HASH, u32, struct thread, THREADS, BPF_F_NO_PREALLOC);
MAP(moves, BPF_MAP_TYPE_HASH, u32, struct moved, THREADS, BPF_F_NO_PREALLOC);
MAP(classes, BPF_MAP_TYPE_ARRAY, u32, u32, CALLS, 0);
MAP(calls, BPF_MAP_TYPE_HASH, struct of_call, struct call, THREADS, BPF_F_NO_PREALLOC);
MAP(sockets, BPF_MAP_TYPE_LRU_HASH, u64, u64, 65536, 0);
/*
 * Starts of the turns under way, in one value: user space looks at all of them at once. Threads whose ids
 * are the same modulo BOARD share a place, and may hide each other. While the hooks rest, a turn that
 * reads another socket than before starts anew here: who serves many in turn is not suspected.
 */
MAP(board, BPF_MAP_TYPE_ARRAY, u32, struct board, 1, 0);
MAP(armed, BPF_MAP_TYPE_ARRAY, u32, struct armed, 1, 0);
/* By the same places as the board. */
MAP(last_reads, BPF_MAP_TYPE_ARRAY, u32, struct last_read, BOARD, 0);
/* Events that did not fit into the ring. */
MAP(lost, BPF_MAP_TYPE_ARRAY, u32, u64, 1, 0);
/* A zeroed thread: too large for the stack. */
MAP(blank, BPF_MAP_TYPE_ARRAY, u32, struct thread, 1, 0);
MAP(no_moves, BPF_MAP_TYPE_ARRAY, u32, struct moved, 1, 0);
/* Room to put a hold together, by CPU as programs are not preempted by others on it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hold);
} room SEC(".maps");
/* Where the sleeping ones fell asleep, by the kernel's own id; and what such an entry begins with. */
MAP(asleep_at, BPF_MAP_TYPE_HASH, u32, struct stack_sample, THREADS, BPF_F_NO_PREALLOC);
MAP(no_stack, BPF_MAP_TYPE_ARRAY, u32, struct stack_sample, 1, 0);
/* Room of the sampler, which may interrupt the other programs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_sample);
} sample_room SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

inline void *only(void *map)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(map, &zero);
}

inline long tell(void *data, u64 size)
{
	long failed = bpf_ringbuf_output(&ring, data, size, BPF_RB_NO_WAKEUP);
	if (failed) {
		u64 *count = only(&lost);
		if (count)
			__sync_fetch_and_add(count, 1);
	}
	return failed;
}

inline u32 class_of(u32 nr)
{
	u32 *class = bpf_map_lookup_elem(&classes, &nr);
	return class ? *class : 0;
}

/* Whether the call is this thread's way back to its loop. */
inline u32 is_poll(struct thread *t, u32 class)
{
	if (class == EPOLL) {
		t->epolls = 1;
		return 1;
	}
	return class == POLL && !t->epolls;
}

/* The number of a task in the namespace that is asked for; 0: it has none there. */
inline u32 number_of(struct task_struct *task, u32 own)
{
	if (!ns_inum)
		return own;
	struct pid *pid = task->thread_pid;
	u32 level = READ(pid, level);
	for (u32 i = 1; i < 8; i++) {
		if (i > level)
			break;
		struct upid *at = (void *)&pid->numbers + i * __builtin_preserve_type_info(*(struct upid *)0, 1);
		struct pid_namespace *ns = READ(at, ns);
		if (READ(ns, ns.inum) == ns_inum)
			return READ(at, nr);
	}
	return 0;
}

inline void mark(u32 host, u64 began)
{
	struct board *all = only(&board);
	if (all)
		all->began[host % BOARD] = began;
}

inline struct thread *thread_of(struct task_struct *task, u64 now, u64 on)
{
	u32 host = task->pid;
	if (!host)
		return 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &host);
	if (t)
		return t;
	struct task_struct *leader = task->group_leader;
	u32 pid = number_of(leader, task->tgid);
	u32 *which = bpf_map_lookup_elem(&watched, &pid);
	u32 tid = 0;
	if (!which || *which == 2) {
		tid = number_of(task, host);
		which = bpf_map_lookup_elem(&watched, &tid);
		if (!which || *which != 2)
			return 0;
	}
	struct thread *zero = only(&blank);
	if (!zero || bpf_map_update_elem(&threads, &host, zero, BPF_NOEXIST))
		return 0;
	t = bpf_map_lookup_elem(&threads, &host);
	if (!t)
		return 0;
	t->pid = pid;
	t->tid = number_of(task, host);
	t->segment.tid = t->tid;
	t->on = on;
	t->flushed = now;
	return t;
}

inline u64 cpu_of(struct thread *t, u64 now)
{
	return t->on ? t->cpu + now - t->on : t->cpu;
}

inline u32 bucket(u64 length)
{
	u64 us = length / 1000;
	u32 bits = 0;
	if (us >> 32) { bits = 32; us >>= 32; }
	if (us >> 16) { bits += 16; us >>= 16; }
	if (us >> 8) { bits += 8; us >>= 8; }
	if (us >> 4) { bits += 4; us >>= 4; }
	if (us >> 2) { bits += 2; us >>= 2; }
	if (us >> 1) { bits += 1; us >>= 1; }
	bits += us;
	return bits < BUCKETS ? bits : BUCKETS - 1;
}

/*
 * How much of a turn was seen for certain: while hooks are not attached, polls that do not sleep are
 * missed, and what reads as one long turn may be many. 0: it was never watched.
 */
inline u64 certain(u64 began, u64 now)
{
	struct armed *hooks = only(&armed);
	if (!hooks || !hooks->since || hooks->since > now)
		return 0;
	return now - (began > hooks->since ? began : hooks->since);
}

/*
 * From when on a turn counts: where the hooks came late, as they rested, what was before may have been
 * other turns. Then it counts from when it began to read one socket only, where that is not too long ago
 * either. It may not be asked where they are not attached.
 */
inline u64 start_of(struct thread *t)
{
	struct armed *hooks = only(&armed);
	u64 start = t->began;
	if (!hooks || start + LATE >= hooks->since)
		return start;
	if (t->alone > start)
		start = t->alone;
	return start + LATE < hooks->since ? hooks->since : start;
}

inline void begin_turn(struct thread *t, u32 host, u64 now)
{
	t->began = now;
	t->cpu_before = cpu_of(t, now);
	t->delay_known = 0;
	t->slept = 0;
	t->asked.family = 0;
	mark(host, now);
}

inline void end_turn(struct thread *t, struct task_struct *task, u32 host, u64 now)
{
	u64 length = now - t->began;
	t->turns[bucket(length)]++;
	t->total += length;
	u64 start = start_of(t);
	if (now - start >= threshold && certain(t->began, now) >= threshold / 2) {
		struct hold *hold = only(&room);
		struct moved *moved = bpf_map_lookup_elem(&moves, &host);
		if (hold) {
			hold->late = start != t->began;
			hold->tid = t->tid;
			hold->pid = t->pid;
			hold->slept_in = t->slept_in;
			hold->began = start;
			hold->ended = now;
			hold->cpu = cpu_of(t, now) - t->cpu_before;
			hold->delay = t->delay_known ? t->delay - t->delay_before : 0;
			hold->slept = t->slept;
			bpf_probe_read_kernel(hold->comm, sizeof(hold->comm), task->comm);
			hold->asked = t->asked;
			if (moved && moved->began == t->began)
				hold->moved = *moved;
			else
				hold->moved.began = 0;
			if (hold->moved.began)
				hold->moved.began = start;
			tell(hold, sizeof(*hold));
		}
	}
	t->began = 0;
	mark(host, 0);
}

/* Tells what slots have gathered. */
inline void flush(struct thread *t, u64 now, u32 kind)
{
	u32 slots = t->segment.slots;
	if (slots > SLOTS)
		slots = SLOTS;
	t->segment.kind = kind;
	t->segment.at = now;
	t->segment.cpu = cpu_of(t, now);
	t->segment.delay = t->delay;
	t->segment.deep = t->deep;
	tell(&t->segment, sizeof(struct event) + slots * sizeof(struct slot));
	t->segment.slots = 0;
	t->flushed = now;
}

/* Where the current thread is. */
inline void take_stack(void *ctx, struct stack_sample *s, struct thread *t, u64 now)
{
	s->kind = STACK_SAMPLE;
	s->tid = t->tid;
	s->pid = t->pid;
	s->began = t->began;
	s->at = now;
	s->slept = 0;
	s64 kernel = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
	s64 user = bpf_get_stack(ctx, s->user, sizeof(s->user), BPF_F_USER_STACK);
	s->kernel_frames = kernel > 0 ? (u32)kernel / 8 : 0;
	s->user_frames = user > 0 ? (u32)user / 8 : 0;
}

/* Holds come first: a sample takes no place that one may need. */
inline void tell_stack(struct stack_sample *s)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 1 << 19)
		bpf_ringbuf_output(&ring, s, sizeof(*s), BPF_RB_NO_WAKEUP);
}

inline struct call *call_of(struct thread *t, u32 nr)
{
	struct of_call key = { t->tid, nr };
	struct call *call = bpf_map_lookup_elem(&calls, &key);
	if (!call) {
		struct call none = {};
		bpf_map_update_elem(&calls, &key, &none, BPF_NOEXIST);
		call = bpf_map_lookup_elem(&calls, &key);
	}
	return call;
}

inline void ends_of(struct sock *sk, struct ends *ends)
{
	ends->family = READ(sk, __sk_common.skc_family);
	ends->state = READ(sk, __sk_common.skc_state);
	ends->local_port = READ(sk, __sk_common.skc_num);
	ends->remote_port = READ(sk, __sk_common.skc_dport);
	if (ends->family == 2) {
		bpf_probe_read_kernel(ends->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(ends->remote, 4, &sk->__sk_common.skc_daddr);
	} else {
		bpf_probe_read_kernel(ends->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(ends->remote, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/* What a descriptor is: 1 TCP, 2 a file, 3 anything else. */
inline u32 what_is(struct task_struct *task, u32 fd, struct sock **sk)
{
	struct fdtable *table = task->files->fdt;
	*sk = 0;
	if (fd >= table->max_fds)
		return 3;
	struct file *file = 0;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	struct inode *inode = READ(file, f_inode);
	u32 mode = READ(inode, i_mode) & 0xf000;
	if (mode == 0x8000)
		return 2;
	if (mode != 0xc000)
		return 3;
	struct socket *socket = READ(file, private_data);
	struct sock *found = READ(socket, sk);
	u32 family = READ(found, __sk_common.skc_family);
	if (READ(socket, type) != 1 || (family != 2 && family != 10))
		return 3;
	*sk = found;
	return 1;
}

/* Tells of a socket: accepted, connected, or seen for the first time. */
inline void tell_socket(struct thread *t, u32 kind, struct sock *sk, s64 fd, u64 now)
{
	struct {
		struct event event;
		struct ends ends;
	} told = {};
	u64 key = (u64)sk;
	told.event.kind = kind;
	told.event.tid = t->tid;
	told.event.at = now;
	told.event.cpu = cpu_of(t, now);
	told.event.delay = t->delay;
	told.event.deep = t->deep;
	told.event.a = key;
	told.event.b = fd;
	ends_of(sk, &told.ends);
	if (!tell(&told, sizeof(told)))
		bpf_map_update_elem(&sockets, &key, &now, BPF_ANY);
}

inline void moved_bytes(struct thread *t, struct task_struct *task, struct pt_regs *regs, u32 nr,
			u32 class, s64 ret, u64 now)
{
	u32 fd = ARG0(regs);
	struct slot *slot = 0;
	struct sock *sk = 0;
	u32 what = 0;
	u32 n = t->segment.slots;
	if (class == SPLICE) {
		/* From a socket into a pipe, or out of one. */
		class = IN;
		what = what_is(task, fd, &sk);
		if (what != 1) {
			u32 to = ARG2(regs);
			u32 other = what_is(task, to, &sk);
			if (other == 1) {
				what = other;
				fd = to;
				class = OUT;
			}
		}
	}
	/* One session's read and write take turns: only the last two may go on. */
	for (u32 back = 1; back <= SLOTS; back++) {
		if (back > n)
			break;
		struct slot *s = &t->slot[(n - back) & (SLOTS - 1)];
		if (s->fd != fd || s->nr != nr || (s->kind & 15) != class)
			continue;
		if (back <= 2)
			slot = s;
		else
			n = SLOTS;
		break;
	}
	if (!slot) {
		if (!what)
			what = what_is(task, fd, &sk);
		u64 key = (u64)sk;
		if (sk && !bpf_map_lookup_elem(&sockets, &key))
			tell_socket(t, E_SOCKET, sk, fd, now);
		if (n >= SLOTS) {
			flush(t, now, E_SEGMENT);
			n = 0;
		}
		slot = &t->slot[n & (SLOTS - 1)];
		t->segment.slots = n + 1;
		slot->sk = key;
		slot->bytes = 0;
		slot->first = now;
		slot->fd = fd;
		slot->data = 0;
		slot->other = 0;
		slot->nr = nr;
		slot->kind = class | what << 4;
		slot->came = 0;
	}
	slot->last = now;
	u32 came = 0;
	if (ret > 0) {
		if (!slot->data)
			slot->first = now;
		slot->data++;
		slot->bytes += ret;
	} else {
		came = ret == 0 ? 2 : ret == -11 ? 1 : 3;
		slot->other++;
	}
	slot->came = (slot->came & 0xf0) | came | 16 << came;
	if (now - t->flushed >= LONG)
		flush(t, now, E_SEGMENT);
}

/* A poll returned. One that never slept took no time that was seen. */
inline void polled(struct thread *t, u32 nr, s64 ret, u64 now)
{
	u32 first = !t->began;
	t->segment.a = t->poll_off ? t->poll_off : now;
	t->segment.b = ret;
	t->segment.c = nr | first << 31;
	t->poll_off = 0;
	t->woken = 0;
	t->began = now;
	flush(t, now, E_POLLED);
}

inline void tell_plain(struct thread *t, u32 kind, u64 now, u64 a, u64 b, u32 c)
{
	struct event event = { kind, t->tid, now, cpu_of(t, now), t->delay, t->deep, a, b, c, 0 };
	tell(&event, sizeof(event));
}

/* It has a CPU from `now` on. */
inline void arrives(struct thread *t, struct task_struct *task, u64 now)
{
	u32 asleep = t->asleep;
	u64 slept = now - t->off;
	u32 class = class_of(t->off_in);
	if (!asleep) {
		t->on = now;
		return;
	}
	/* What it did before it slept was done by then. */
	u32 is_long = every && slept >= LONG && !is_poll(t, class);
	if (is_long)
		flush(t, t->off, E_SEGMENT);
	else if (asleep & DEEP)
		t->deep += slept;
	t->on = now;
	t->asleep = 0;
	if (every) {
		struct call *call = call_of(t, t->off_in);
		if (call)
			__sync_fetch_and_add(&call->asleep, slept);
	}
	if (is_poll(t, class)) {
		t->woken = 1;
		if (!every)
			begin_turn(t, task->pid, now);
		return;
	}
	if (slept > t->slept) {
		t->slept = slept;
		t->slept_in = t->off_in;
	}
	if (!every && t->began && slept >= LONG) {
		u32 host = task->pid;
		struct stack_sample *s = bpf_map_lookup_elem(&asleep_at, &host);
		if (s && s->at == t->off) {
			s->slept = slept;
			tell_stack(s);
		}
	}
	if (is_long) {
		struct sock *sk = 0;
		if (class == IN || class == OUT || class == SPLICE)
			what_is(task, t->off_fd, &sk);
		tell_plain(t, asleep & DEEP ? E_SLEPT_DEEP : E_SLEPT, now, t->off, (u64)sk, t->off_in);
	}
}

/*
 * Of a thread that was not seen to get the CPU it is on: there are kernels that do not tell of each switch
 * (docs/who.md). That it runs shows it.
 */
inline void is_here(struct thread *t, struct task_struct *task)
{
	if (!t->on)
		arrives(t, task, bpf_ktime_get_ns());
}

SEC("tp_btf/sys_exit")
int returned(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	struct thread *t = thread_of(task, now, now);
	if (!t)
		return 0;
	is_here(t, task);
	t->delay = task->sched_info.run_delay;
	struct pt_regs *regs = (void *)ctx[0];
	s64 ret = ctx[1];
	u32 nr = CALL(regs);
	u32 class = class_of(nr);
	struct sock *sk = 0;
	if (is_poll(t, class)) {
		polled(t, nr, ret, now);
		return 0;
	}
	if (!t->began) {
		/* It was out of its poll before us: of that turn is told what we see. */
		t->began = now;
		tell_plain(t, E_BEGUN, now, 0, 0, nr);
	}
	if (class == IN || class == OUT || class == SPLICE) {
		moved_bytes(t, task, regs, nr, class, ret, now);
		return 0;
	}
	struct call *call = call_of(t, nr);
	if (call)
		__sync_fetch_and_add(&call->count, 1);
	if (class == ACCEPT) {
		flush(t, now, E_SEGMENT);
		if (ret >= 0 && what_is(task, ret, &sk) == 1)
			tell_socket(t, E_ACCEPTED, sk, ret, now);
		else if (ret == -11)
			tell_plain(t, E_ACCEPTED, now, 0, ret, nr);
	} else if (class == CONNECT && (ret == 0 || ret == -115)) {
		u32 fd = ARG0(regs);
		flush(t, now, E_SEGMENT);
		if (what_is(task, fd, &sk) == 1)
			tell_socket(t, E_CONNECTED, sk, fd, now);
	} else if (class == CLOSE) {
		flush(t, now, E_SEGMENT);
		tell_plain(t, E_CLOSED, now, 0, ARG0(regs), nr);
	}
	return 0;
}

inline void leaves(void *ctx, struct task_struct *task, u32 state, u64 now)
{
	struct thread *t = thread_of(task, now, 0);
	if (!t)
		return;
	struct pt_regs *regs = bpf_task_pt_regs(task);
	u32 host = task->pid;
	u64 ran = task->se.sum_exec_runtime;
	if (!t->on && t->off) {
		u64 away = now - t->off;
		u64 here = ran - t->ran;
		arrives(t, task, here < away ? now - here : t->off);
	}
	t->cpu = cpu_of(t, now);
	t->ran = ran;
	t->on = 0;
	t->off = now;
	t->asleep = state;
	t->off_in = CALL(regs);
	t->off_fd = ARG0(regs);
	t->delay = task->sched_info.run_delay;
	if (!t->delay_known) {
		t->delay_before = t->delay;
		t->delay_known = 1;
	}
	if (!t->asleep)
		return;
	u32 class = class_of(t->off_in);
	if (is_poll(t, class)) {
		if (!every && t->began)
			end_turn(t, task, host, now);
		if (!t->woken)
			t->poll_off = now;
	} else if (!every && class == FUTEX && !t->epolls && t->began) {
		/* A thread of a pool that looked up a name: it is idle, and no loop. */
		t->began = 0;
		mark(host, 0);
	} else if (!every && t->began) {
		struct stack_sample *s = bpf_map_lookup_elem(&asleep_at, &host);
		if (!s) {
			struct stack_sample *none = only(&no_stack);
			if (!none)
				return;
			bpf_map_update_elem(&asleep_at, &host, none, BPF_NOEXIST);
			s = bpf_map_lookup_elem(&asleep_at, &host);
		}
		if (s)
			take_stack(ctx, s, t, now);
	}
}

inline void comes(struct task_struct *task, u64 now)
{
	struct thread *t = thread_of(task, now, now);
	if (!t)
		return;
	u32 is_new = !t->off && !t->began;
	arrives(t, task, now);
	if (!every && is_new && is_poll(t, class_of(CALL(bpf_task_pt_regs(task))))) {
		/* It fell asleep in its poll before it was watched. */
		t->woken = 1;
		begin_turn(t, task->pid, now);
	}
}

SEC("tp_btf/sched_switch")
int switched(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns();
	u32 preempted = ctx[0];
	u32 state = ctx[3];
	leaves(ctx, (void *)ctx[1], preempted ? 0 : state & 0xff, now);
	comes((void *)ctx[2], now);
	return 0;
}

/* A thread that has ended is forgotten: it would read as held for ever. */
SEC("tp_btf/sched_process_exit")
int ended(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 host = task->pid;
	struct thread *t = bpf_map_lookup_elem(&threads, &host);
	if (!t)
		return 0;
	if (every) {
		flush(t, bpf_ktime_get_ns(), E_SEGMENT);
		return 0;
	}
	mark(host, 0);
	/* With its main thread a process is forgotten: its number may be another's soon. */
	u32 pid = t->pid;
	if (host == (u32)task->tgid)
		bpf_map_delete_elem(&watched, &pid);
	bpf_map_delete_elem(&threads, &host);
	bpf_map_delete_elem(&moves, &host);
	bpf_map_delete_elem(&asleep_at, &host);
	return 0;
}

/* Attached while a hold is suspected: polls that do not sleep. */
SEC("tp_btf/sys_exit")
int exited(u64 *ctx)
{
	/* Called for each call of the host: most are no polls. */
	struct pt_regs *regs = (void *)ctx[0];
	u32 class = class_of(CALL(regs));
	if (class != POLL && class != EPOLL)
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	u32 host = task->pid;
	struct thread *t = bpf_map_lookup_elem(&threads, &host);
	if (!t)
		return 0;
	is_here(t, task);
	if (!is_poll(t, class))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct armed *hooks = only(&armed);
	if (!hooks)
		return 0;
	if (t->woken) {
		t->woken = 0;
		/* It woke before the hooks were there: this may be another poll than that. */
		if (t->began > hooks->since)
			return 0;
	}
	if (t->began) {
		/* What it waited for a CPU since it left its last. */
		t->delay = task->sched_info.run_delay;
		end_turn(t, task, host, now);
		__sync_fetch_and_add(&hooks->polls, 1);
	}
	begin_turn(t, host, now);
	return 0;
}

/* The same of a socket that the kernel vouches for: its members are read without a helper. */
inline void ends_at_once(struct sock *sk, struct ends *ends)
{
	ends->family = sk->__sk_common.skc_family;
	ends->state = sk->__sk_common.skc_state;
	ends->local_port = sk->__sk_common.skc_num;
	ends->remote_port = sk->__sk_common.skc_dport;
	if (ends->family == 2) {
		*(u32 *)ends->local = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)ends->remote = sk->__sk_common.skc_daddr;
	} else {
		bpf_probe_read_kernel(ends->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(ends->remote, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

inline void moved(struct sock *sk, s64 bytes, u32 out)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 host = task->pid;
	struct thread *t = bpf_map_lookup_elem(&threads, &host);
	if (!t)
		return;
	is_here(t, task);
	if (!t->began || bytes <= 0)
		return;
	u32 family = sk->__sk_common.skc_family;
	if (family != 2 && family != 10)
		return;
	struct armed *hooks = only(&armed);
	if (!hooks)
		return;
	if (!out && hooks->rests && t->alone_sk != (u64)sk) {
		t->alone_sk = (u64)sk;
		t->alone = bpf_ktime_get_ns();
		mark(host, t->alone);
	}
	/* Mostly the hooks came after that time, and it need not be read. */
	u64 suspected = t->began + SUSPECTED;
	if (!out && (!hooks->since || (hooks->since < suspected && bpf_ktime_get_ns() < suspected)))
		ends_at_once(sk, &t->asked);
	if (!hooks->since)
		return;
	struct moved *m = bpf_map_lookup_elem(&moves, &host);
	if (!m || m->began != t->began) {
		struct moved *none = only(&no_moves);
		if (!none)
			return;
		bpf_map_update_elem(&moves, &host, none, BPF_ANY);
		m = bpf_map_lookup_elem(&moves, &host);
		if (!m)
			return;
		m->began = t->began;
	}
	struct flow *least = &m->flow[0];
	u64 fewest = ~0ull;
	for (u32 i = 0; i < FLOWS; i++) {
		struct flow *f = &m->flow[i];
		if (f->sk == (u64)sk) {
			least = f;
			goto found;
		}
		u64 sum = f->read + f->written;
		if (sum < fewest) {
			fewest = sum;
			least = f;
		}
	}
	m->elsewhere += fewest;
	least->sk = (u64)sk;
	least->read = 0;
	least->written = 0;
	ends_at_once(sk, &least->ends);
found:
	if (out)
		least->written += bytes;
	else
		least->read += bytes;
}

SEC("tp_btf/sock_send_length")
int sent(u64 *ctx)
{
	moved((void *)ctx[0], (s32)ctx[1], 1);
	return 0;
}

/* Always attached, and called for each read of the host: most are told from what is new without a search. */
SEC("tp_btf/sock_recv_length")
int received(u64 *ctx)
{
	/* Bytes that are only looked at are not moved: MSG_PEEK. */
	if ((s32)ctx[1] <= 0 || (u32)ctx[2] & 2)
		return 0;
	u32 place = (u32)bpf_get_current_task_btf()->pid % BOARD;
	struct last_read *last = bpf_map_lookup_elem(&last_reads, &place);
	struct board *all = only(&board);
	struct armed *hooks = only(&armed);
	if (!all || !hooks || !last)
		return 0;
	u64 *began = &all->began[place % BOARD];
	u64 sk = ctx[0];
	if (!*began ||
	    (!hooks->since && last->sk == sk && last->began == *began && last->rests == hooks->rests))
		return 0;
	moved((void *)ctx[0], (s32)ctx[1], 0);
	last->sk = sk;
	last->began = *began;
	last->rests = hooks->rests;
	return 0;
}

/* Where CPU time goes: by call, or in none. */
SEC("perf_event")
int sampled(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 host = task->pid;
	struct thread *t = bpf_map_lookup_elem(&threads, &host);
	if (!t)
		return 0;
	struct pt_regs *regs = bpf_task_pt_regs(task);
	struct call *call = call_of(t, CALL(regs));
	if (call)
		__sync_fetch_and_add(&call->samples, 1);
	return 0;
}

/* Attached while a hold lasts: where its thread runs. */
SEC("perf_event")
int held(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 host = task->pid;
	struct thread *t = bpf_map_lookup_elem(&threads, &host);
	struct stack_sample *s = only(&sample_room);
	u64 now = bpf_ktime_get_ns();
	if (!t || !s || !t->began || now - t->began < threshold || certain(t->began, now) < threshold / 2)
		return 0;
	take_stack(ctx, s, t, now);
	tell_stack(s);
	return 0;
}
