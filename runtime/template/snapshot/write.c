// Writing a snapshot.
//
// Two kinds of addresses in the old process's memory would be wrong in a new one: those of the
// arguments, the environment and the auxiliary vector, which lie on the stack, and those of the vDSO.
// Both are chosen by the kernel anew. So the first block is copied, the second gets a place among the
// mappings, and each word that points into the old places is changed to the new ones.
#include <asm/stat.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include "descriptors.h"
#include "restore.h"

// A piece is a segment to be: content up to content_end, zeros up to at.end.
struct piece { struct range at; u64 content_end; u32 prot; };

// A move says that words which point into from must point into to.
struct move { struct range from; u64 to; };

static const char *thread_fields(void)
{
	__asm__("mov %%fs:0, %0" : "=r"(restoring.thread)); // the descriptor begins with its own address (tcbhead_t.tcb)
	restoring.tid = (int *)(restoring.thread + PTHREAD_TID);
	restoring.robust = (void *)(restoring.thread + PTHREAD_ROBUST);
	if (*restoring.tid != SYS(gettid) || *(void **)restoring.robust != restoring.robust)
		return "this C library keeps the thread's number or its robust futexes at another offset";
	return 0;
}

// nothing_open checks what a snapshot does not hold: other threads, and files.
static const char *nothing_open(void)
{
	struct stat tasks;
	if (SYS(newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) || tasks.st_nlink != 3) // two, and one for each thread
		return "the interpreter has more than one thread";
	for (int fd = 3, end = descriptors_end(); fd < end; fd++)
		if (SYS(fcntl, fd, F_GETFD) >= 0)
			return "the interpreter has open files";
	return 0;
}

static u64 anonymous(u64 size, u32 prot)
{
	long at = SYS(mmap, 0, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at < 0 && at > -PAGE ? 0 : (u64)at;
}

// vdso_place chooses the place of the vDSO, and reserves it if it is not the old one. It must have the
// same neighbours among the libraries: the C library finds the library of an address in an array that is
// sorted by addresses (elf/dl-find_object.c), and without that no exception of C++ finds its handler.
// Between libraries the old place is free in each run. Above all of them it is near the stack, which a
// new process could need: then it is directly above them. 0: there is no place.
static u64 vdso_place(const struct mapping *all, int n, struct range kernel)
{
	u64 size = kernel.end - kernel.start, at = 0;
	for (int i = 0; i < n; i++) {
		if (!all[i].file)
			continue;
		if (all[i].at.start >= kernel.end)
			return kernel.start;
		at = all[i].at.end;
	}
	for (int i = 0; i < n && all[i].at.start < at + size; i++)
		if (all[i].at.end > at)
			at = all[i].at.end;
	return SYS(mmap, at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == (long)at ? at : 0;
}

static u64 pages(u64 n) { return (n + PAGE - 1) & ~(u64)(PAGE - 1); }

static void redirect(const struct mapping *m, const struct move *moves, int n)
{
	int writable = m->prot & PROT_WRITE;
	for (u64 *p = (u64 *)m->at.start; p < (u64 *)m->at.end; p++) {
		if ((u64)p % PAGE == 0 && mapping_untouched(m, (u64)p)) {
			p += PAGE / sizeof *p - 1;
			continue;
		}
		for (int i = 0; i < n; i++) {
			if (*p < moves[i].from.start || *p >= moves[i].from.end)
				continue;
			if (!writable) { // relocated data that the loader made read-only
				SYS(mprotect, m->at.start, m->at.end - m->at.start, PROT_READ | PROT_WRITE);
				writable = 1;
			}
			*p = *p - moves[i].from.start + moves[i].to;
			break;
		}
	}
	if (writable && !(m->prot & PROT_WRITE))
		SYS(mprotect, m->at.start, m->at.end - m->at.start, m->prot);
}

// of_the_image reports whether each run maps the file of a mapping itself, because it is large and
// unchanged: so it takes no memory of the agent. It is on the device of the image, and not in /box.
static int of_the_image(const struct mapping *m, u32 device)
{
	enum { LEAST = 8 << 20 };
	return m->kind == ORDINARY && m->prot && m->file && m->device == device && m->at.end - m->at.start >= LEAST;
}

// note_file notes a mapping of a file of the image. It returns 0, or -1 if there are too many.
static int note_file(const struct mapping *m)
{
	u32 n = 0, file;
	while (n < MAX_PATH && m->file[n] != '\n')
		n++;
	if (n == MAX_PATH || restoring.file_mappings == MAX_FILE_MAPPINGS)
		return -1;
	for (file = 0; file < restoring.files; file++) {
		u32 i = 0;
		while (i < n && restoring.file[file][i] == m->file[i])
			i++;
		if (i == n && !restoring.file[file][n])
			break;
	}
	if (file == MAX_FILES)
		return -1;
	if (file == restoring.files)
		for (u32 i = 0; i < n; i++)
			restoring.file[file][i] = m->file[i];
	restoring.files += file == restoring.files;
	restoring.file_mapping[restoring.file_mappings++] = (struct file_mapping){m->at, m->offset, m->prot, file};
	return 0;
}

static int is_zero(const struct mapping *m, u64 page)
{
	if (mapping_untouched(m, page))
		return 1;
	for (const u64 *p = (const u64 *)page; p < (const u64 *)(page + PAGE); p++)
		if (*p)
			return 0;
	return 1;
}

// cut divides a mapping into pieces: a run of zeros of at least LEAST_ZEROS pages takes no place in
// the file. Only where the program may write: the loader makes no zeros elsewhere. Returns the number
// of pieces, or -1 if there are too many.
static int cut(const struct mapping *m, struct piece *out, int n)
{
	enum { LEAST_ZEROS = 16 };
	for (u64 at = m->at.start; at < m->at.end;) {
		u64 content = m->prot & PROT_WRITE ? at : m->at.end, end = content;
		while (end < m->at.end) { // content ends where enough zeros follow
			u64 zeros = end;
			while (zeros < m->at.end && is_zero(m, zeros))
				zeros += PAGE;
			if (zeros == m->at.end || zeros - end >= LEAST_ZEROS * PAGE) {
				content = end;
				end = zeros;
				break;
			}
			for (end = zeros; end < m->at.end && !is_zero(m, end);)
				end += PAGE;
			content = end;
		}
		struct piece *before = n ? &out[n - 1] : 0;
		if (before && before->at.end == at && before->content_end == at && before->prot == m->prot && content > at) {
			before->content_end = content;
			before->at.end = end;
		} else {
			if (n == MAX_PIECES)
				return -1;
			out[n++] = (struct piece){{at, end}, content, m->prot};
		}
		at = end;
	}
	return n;
}

static int write_all(long fd, const void *from, u64 n)
{
	for (const char *p = from; n;) {
		long k = SYS(write, fd, p, n);
		if (k <= 0)
			return -1;
		p += k;
		n -= (u64)k;
	}
	return 0;
}

// is_own reports whether a piece has code or data of restore, which runs before the late ones are mapped.
static int is_own(const struct piece *p)
{
	return p->at.start < (u64)_end && p->at.end > (u64)__ehdr_start;
}

// divide chooses the pieces that the kernel maps, at most MAX_LOADS: those of restore; the last, above
// which the kernel puts the heap; and others while there is room. restore maps the rest. The offsets are
// those of the contents in the file, in the order of the pieces.
static int divide(const struct piece *pieces, int n, u64 offset, Elf64_Phdr *segment)
{
	int room = MAX_LOADS - 1, loads = 0;
	for (int i = 0; i < n - 1; i++)
		room -= is_own(&pieces[i]);
	restoring.lates = 0;
	for (int i = 0; i < n; i++) {
		const struct piece *p = &pieces[i];
		u64 size = p->content_end - p->at.start;
		if (i == n - 1 || is_own(p) || room-- > 0)
			segment[loads++] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = p->at.start, .p_paddr = p->at.start, .p_filesz = size,
				.p_memsz = p->at.end - p->at.start, .p_offset = size ? offset : 0, .p_align = PAGE,
				.p_flags = (p->prot & PROT_READ ? PF_R : 0) | (p->prot & PROT_WRITE ? PF_W : 0) | (p->prot & PROT_EXEC ? PF_X : 0)};
		else
			restoring.late[restoring.lates++] = (struct late){p->at, p->content_end, offset, p->prot};
		offset += size;
	}
	segment[loads] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
	return loads + 1;
}

// elf writes the executable: a loadable segment for each piece, in the order of their addresses.
static const char *elf(const char *path, const struct piece *pieces, int n)
{
	static Elf64_Phdr segment[MAX_LOADS + 1];
	enum { CONTENTS = 2 * PAGE }; // where they begin, after the headers
	int headers = divide(pieces, n, CONTENTS, segment);
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_EXEC,
		.e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_entry = (u64)snapshot_entry, .e_phoff = sizeof head,
		.e_ehsize = sizeof head, .e_phentsize = sizeof segment[0], .e_phnum = (Elf64_Half)headers};
	long fd = SYS(openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return "the file cannot be made";
	int bad = write_all(fd, &head, sizeof head) || write_all(fd, segment, (u64)headers * sizeof segment[0]) ||
		  SYS(lseek, fd, CONTENTS, 0) < 0;
	for (int i = 0; i < n && !bad; i++)
		bad = write_all(fd, (const void *)pieces[i].at.start, pieces[i].content_end - pieces[i].at.start);
	SYS(close, fd);
	return bad ? "the file cannot be written" : 0;
}

// cut_all divides all memory that the snapshot holds. It returns the number of pieces, or -1. It forgets
// which pages were untouched: the caller may have touched others since.
static int cut_all(const struct mapping *all, int n, u32 device, struct piece *pieces)
{
	int count = 0;
	mappings_forget();
	for (int i = 0; i < n && count >= 0; i++)
		if (all[i].kind == ORDINARY && all[i].prot && !of_the_image(&all[i], device))
			count = cut(&all[i], pieces, count);
	return count;
}

const char *snapshot_write(const char *path, const struct snapshot *s)
{
	// These lists are on the stack, which is neither searched for addresses nor written.
	struct mapping all[MAX_MAPPINGS];
	struct piece pieces[MAX_PIECES];
	const char *missing = s->threads ? descriptors_note() : nothing_open();
	if (!missing)
		missing = thread_fields();
	if (missing)
		return missing;
	for (int sig = 1; sig <= SIGNALS; sig++)
		SYS(rt_sigaction, sig, 0, &restoring.signal[sig], 8);

	// 1. places: of the copy of the block, and of the vDSO.
	int n = mappings_read(all, MAX_MAPPINGS);
	if (n < 0)
		return "/proc/self/smaps cannot be read, or it is too long";
	struct range block = {(u64)(s->argv - 1), 0}, kernel = {0, 0};
	u64 vdso = 0;
	u32 device = 0; // of the image: the C library is of it
	for (int i = 0; i < n; i++) {
		if (all[i].keyed)
			return "the interpreter uses protection keys";
		if ((u64)s->code >= all[i].at.start && (u64)s->code < all[i].at.end)
			device = all[i].device;
		if (all[i].kind == STACK)
			block.end = all[i].at.end;
		if (all[i].kind != VDSO && all[i].kind != VVAR)
			continue;
		if (restoring.vdso_parts == VDSO_PARTS)
			return "the vDSO has too many parts";
		restoring.vdso_part[restoring.vdso_parts++] = all[i].at;
		if (!kernel.start)
			kernel.start = all[i].at.start;
		kernel.end = all[i].at.end;
		if (all[i].kind == VDSO)
			vdso = all[i].at.start;
	}
	u64 place = vdso ? vdso_place(all, n, kernel) : 0, copy = anonymous(pages(block.end - block.start), PROT_READ | PROT_WRITE);
	if (vdso && !place)
		return "there is no place for the vDSO";
	if (!copy)
		return "there is no memory for a copy of the arguments";
	for (u64 i = 0; i < (block.end - block.start) / sizeof(u64); i++)
		((u64 *)copy)[i] = ((u64 *)block.start)[i];
	if (place != kernel.start)
		SYS(munmap, place, kernel.end - kernel.start);

	// 2. addresses: every word that points to an old place points to the new one.
	struct move moves[] = {{block, copy}, {kernel, place}};
	struct range parts[VDSO_PARTS];
	for (u32 i = 0; i < restoring.vdso_parts; i++) { // kept out of the search: they must stay the old ones
		parts[i] = restoring.vdso_part[i];
		restoring.vdso_part[i] = (struct range){0, 0};
	}
	if ((n = mappings_read(all, MAX_MAPPINGS)) < 0)
		return "/proc/self/smaps cannot be read, or it is too long";
	for (int i = 0; i < n; i++)
		if (all[i].kind == ORDINARY && (all[i].prot & PROT_READ) && !(all[i].prot & PROT_EXEC) && !of_the_image(&all[i], device))
			redirect(&all[i], moves, place == kernel.start ? 1 : 2);
	for (u32 i = 0; i < restoring.vdso_parts; i++)
		restoring.vdso_part[i] = parts[i];

	// 3. what restore needs besides the memory.
	restoring.resume = s->resume;
	restoring.environ = s->environ;
	restoring.brk = s->brk;
	restoring.rseq = s->rseq;
	restoring.returns = s->returns;
	restoring.threads = s->threads;
	__asm__("stmxcsr %0\n\tfnstcw %1" : "=m"(restoring.sse), "=m"(restoring.x87));
	restoring.vdso_start = vdso;
	restoring.vdso_at = place + (vdso - kernel.start);
	for (int i = 0; i < n; i++) {
		const struct mapping *m = &all[i];
		if (m->kind == FRESH || (m->kind == ORDINARY && !m->prot))
			restoring.empty[restoring.empties++] = (struct empty){m->at, m->prot, m->droppable, m->kind == FRESH && !m->droppable};
		if (of_the_image(m, device) && note_file(m))
			return "too many files of the image are mapped";
	}

	// 4. the file: from here on only the list of late pieces changes. Its place in the memory is filled
	// before the pieces are cut, so that it is none of zeros.
	static const char too_many[] = "the memory is in too many pieces";
	enum { MORE = 8 }; // pieces by the cut of that place, and that of the vDSO
	int count = cut_all(all, n, device, pieces), late = count + MORE - MAX_LOADS;
	if (count < 1 || late > MAX_PIECES - MAX_LOADS)
		return too_many;
	if (late > 0) {
		for (u64 *p = (u64 *)restoring.late; p < (u64 *)&restoring.late[late]; p++)
			*p = -1UL;
		count = cut_all(all, n, device, pieces);
		if (count < 0 || count >= MAX_LOADS + late)
			return too_many;
	}
	// A vDSO above all other pieces is where the heap would begin: the kernel maps it as a segment, without
	// memory, so that the heap begins above it.
	if (place > pieces[count - 1].at.start)
		pieces[count++] = (struct piece){{place, place + kernel.end - kernel.start}, place, PROT_READ | PROT_WRITE};
	return elf(path, pieces, count);
}
