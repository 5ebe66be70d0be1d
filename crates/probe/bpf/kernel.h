/*
 * What the programs use of the kernel: helpers by number (include/uapi/linux/bpf.h), and its structures
 * with no member but those read here. Their places are found when the object is loaded (CO-RE).
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define inline static inline __attribute__((always_inline))
#define CORE __attribute__((preserve_access_index))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_NO_PREALLOC 1
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_AVAIL_DATA 0
#define BPF_F_USER_STACK 256

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_get_stack)(void *ctx, void *to, u32 size, u64 flags) = (void *)67;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static u64 (*bpf_ringbuf_query)(void *ring, u64 what) = (void *)134;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static struct pt_regs *(*bpf_task_pt_regs)(struct task_struct *task) = (void *)175;

/* Reads through a pointer that the verifier knows nothing of; a fault reads as zeros. */
#define READ(from, member)                                                                     \
	({                                                                                         \
		__typeof__((from)->member) _value;                                                     \
		bpf_probe_read_kernel(&_value, sizeof(_value), &(from)->member);                       \
		_value;                                                                                \
	})

struct ns_common { u32 inum; } CORE;
struct pid_namespace { struct ns_common ns; } CORE;
struct upid { s32 nr; struct pid_namespace *ns; } CORE;
struct pid { u32 level; struct upid numbers[1]; } CORE;
struct sched_entity { u64 sum_exec_runtime; } CORE;
struct sched_info { unsigned long long run_delay; } CORE;
struct inode { u16 i_mode; } CORE;
struct file { struct inode *f_inode; void *private_data; } CORE;
struct fdtable { u32 max_fds; struct file **fd; } CORE;
struct files_struct { struct fdtable *fdt; } CORE;

struct task_struct {
	s32 pid;
	s32 tgid;
	char comm[16];
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct files_struct *files;
	struct sched_entity se;
	struct sched_info sched_info;
} CORE;

struct in6_addr { u8 byte[16]; };
struct sock_common {
	u16 skc_family;
	u8 skc_state;
	u16 skc_dport;
	u16 skc_num;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} CORE;
struct sock { struct sock_common __sk_common; } CORE;
struct socket { short type; struct sock *sk; } CORE;

/* The number of the call a thread is in, and its first and third argument. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs { unsigned long orig_ax, di, dx; } CORE;
#define CALL(regs) ((u32)(regs)->orig_ax)
#define ARG0(regs) ((u32)(regs)->di)
#define ARG2(regs) ((u32)(regs)->dx)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs { u64 regs[31]; u64 orig_x0; s32 syscallno; } CORE;
#define CALL(regs) ((u32)(regs)->syscallno)
#define ARG0(regs) ((u32)(regs)->orig_x0)
#define ARG2(regs) ((u32)(regs)->regs[2])
#endif
