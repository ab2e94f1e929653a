// By what two processes can tell that a shareable handle of the one and that of the other are the
// same memory: the driver has no number for it. The exporter makes two allocations and two pools,
// and sends their file descriptors over a socket; both processes print what the kernel says of
// them. Nothing is judged here: the output is read.
//
// Build: nvcc -std=c++17 -O2 -cudart static shareable.cu -lcuda
// Run:   shareable
#include <cuda.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../descriptor.h"

namespace {

const char* g_who = "exporter";

#define DRV(call)                                                           \
  do {                                                                      \
    const CUresult error = (call);                                          \
    if (error != CUDA_SUCCESS) {                                            \
      std::printf("%s | %s | driver error %d\n", g_who, #call, int(error)); \
      std::fflush(stdout);                                                  \
      std::exit(3);                                                         \
    }                                                                       \
  } while (0)
#define TRY(call)                                                   \
  [&] {                                                             \
    const CUresult error = (call);                                  \
    std::printf("%s | %s | result %d\n", g_who, #call, int(error)); \
    return error == CUDA_SUCCESS;                                   \
  }()

void Hex(const char* what, const void* bytes, size_t count) {
  std::printf("%s | %s | ", g_who, what);
  for (size_t i = 0; i < count; ++i) {
    std::printf("%02x", static_cast<const unsigned char*>(bytes)[i]);
  }
  std::printf("\n");
}

// Everything that the kernel says of a descriptor.
void Tell(const char* what, int fd) {
  struct stat s = {};
  const int stated = fstat(fd, &s);
  char path[64], target[256] = "";
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (readlink(path, target, sizeof target - 1) < 0) std::strcpy(target, "?");
  std::printf("%s | %s | fd %d stat %d dev %lx ino %lu rdev %lx mode %o size %ld -> %s\n", g_who,
              what, fd, stated, (unsigned long)s.st_dev, (unsigned long)s.st_ino,
              (unsigned long)s.st_rdev, s.st_mode, (long)s.st_size, target);
  f_owner_ex owner = {};
  const int owned = fcntl(fd, F_GETOWN_EX, &owner);
  std::printf("%s | %s | lseek %ld flags %o owner %d (%d: type %d pid %d) signal %d\n", g_who, what,
              (long)lseek(fd, 0, SEEK_CUR), fcntl(fd, F_GETFL), fcntl(fd, F_GETOWN), owned,
              owner.type, owner.pid, fcntl(fd, F_GETSIG));
  std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  if (FILE* info = std::fopen(path, "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, info)) std::printf("%s | %s |   %s", g_who, what, line);
    std::fclose(info);
  }
}

// Labels on the file description, which all that hold it can read: whose signals it sends (nothing
// is ever sent: O_ASYNC is off), and a lock on a byte that nobody uses, which fdinfo shows.
void Label(const char* what, int fd, int number) {
  f_owner_ex owner = {F_OWNER_PID, getpid()};
  const int owned = fcntl(fd, F_SETOWN_EX, &owner), owner_error = errno;
  const int marked = fcntl(fd, F_SETSIG, number), mark_error = errno;
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = (long(0x1234567) << 32) + number;
  lock.l_len = 1;
  const int locked = fcntl(fd, F_OFD_SETLK, &lock), lock_error = errno;
  std::printf(
      "%s | %s | label: setown %d (errno %d) setsig %d (errno %d) lock at %ld: %d (errno %d)\n",
      g_who, what, owned, owned ? owner_error : 0, marked, marked ? mark_error : 0,
      long(lock.l_start), locked, locked ? lock_error : 0);
}

template <class T>
void Send(int socket, const T& value) {
  if (write(socket, &value, sizeof value) != ssize_t(sizeof value)) std::exit(4);
}
template <class T>
T Receive(int socket) {
  T value;
  auto* to = reinterpret_cast<char*>(&value);
  for (size_t got = 0; got < sizeof value;) {
    const ssize_t more = read(socket, to + got, sizeof value - got);
    if (more <= 0) std::exit(4);
    got += size_t(more);
  }
  return value;
}

// What the kernel says of it before it is labelled, then, and once the importer has it.
template <class T>
void Give(int socket, const char* what, int fd, int number, const T& beside) {
  Tell(what, fd);
  Label(what, fd, number);
  Tell(what, fd);
  if (!SendDescriptor(socket, fd)) std::printf("%s | sendmsg | errno %d\n", g_who, errno);
  Send(socket, beside);
  Receive<char>(socket);
  Tell(what, fd);
  close(fd);
}

CUmemAllocationProp Properties(CUmemAllocationHandleType type) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = type;
  return prop;
}

CUdeviceptr Map(CUmemGenericAllocationHandle handle, size_t bytes, const char* what) {
  const CUmemAllocationProp prop = Properties(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr at = 0;
  DRV(cuMemAddressReserve(&at, bytes, 0, 0, 0));
  DRV(cuMemMap(at, bytes, 0, handle, 0));
  DRV(cuMemSetAccess(at, bytes, &access, 1));
  unsigned long long id = 0;
  TRY(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
  CUmemGenericAllocationHandle retained = 0;
  TRY(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(at)));
  std::printf("%s | %s | handle %llx, retained %llx, mapped at %llx buffer id %llu\n", g_who, what,
              (unsigned long long)handle, (unsigned long long)retained, (unsigned long long)at, id);
  return at;
}

void Start() {
  CUdevice device;
  CUcontext context;
  DRV(cuInit(0));
  DRV(cuDeviceGet(&device, 0));
  DRV(cuDevicePrimaryCtxRetain(&context, device));
  DRV(cuCtxSetCurrent(context));
  int fabric = -1, posix = -1;
  cuDeviceGetAttribute(&fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, device);
  cuDeviceGetAttribute(&posix, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                       device);
  utsname name = {};
  uname(&name);
  std::printf("%s | pid %d, kernel %s %s; descriptors %d, fabric %d\n", g_who, getpid(),
              name.sysname, name.release, posix, fabric);
}

int Importer(int socket) {
  g_who = "importer";
  Start();
  const size_t piece = Receive<size_t>(socket);
  for (int i = 0; i < 3; ++i) {  // the two allocations, and the first one once more
    const char* const what[] = {"memory A", "memory B", "memory A again"};
    const int fd = ReceiveDescriptor(socket), theirs = Receive<int>(socket);
    Tell(what[i], fd);
    std::printf("%s | %s | kcmp with the exporter's: %ld (errno %d)\n", g_who, what[i],
                syscall(SYS_kcmp, getpid(), getppid(), KCMP_FILE, fd, theirs), errno);
    CUmemGenericAllocationHandle handle;
    if (TRY(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t(fd)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))) {
      const CUdeviceptr at = Map(handle, piece, what[i]);
      int value = 0;
      DRV(cuMemcpyDtoH(&value, at, sizeof value));
      std::printf("%s | %s | holds %d\n", g_who, what[i], value);
    }
    close(fd);
    Send(socket, 'n');
  }
  for (int i = 0; i < 2; ++i) {
    const char* const what[] = {"pool P", "pool Q"};
    const int fd = ReceiveDescriptor(socket);
    Tell(what[i], fd);
    const auto data = Receive<CUmemPoolPtrExportData>(socket);
    CUmemoryPool pool;
    CUdeviceptr at;
    CUmemPoolPtrExportData copy = data;
    if (TRY(cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(intptr_t(fd)),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))) {
      CUmemAccessDesc access = {};
      access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      TRY(cuMemPoolSetAccess(pool, &access, 1));
      if (TRY(cuMemPoolImportPointer(&at, pool, &copy))) {
        size_t bytes = 0;
        CUdeviceptr base = 0;
        TRY(cuMemGetAddressRange(&base, &bytes, at));
        std::printf("%s | %s | at %llx base %llx bytes %zu\n", g_who, what[i],
                    (unsigned long long)at, (unsigned long long)base, bytes);
        Hex("data after the import", &copy, sizeof copy);
        TRY(cuMemFree(at));
      }
    }
    close(fd);
    Send(socket, 'n');
  }
  Receive<char>(socket);
  return 0;
}

void Fabric(size_t piece) {
  CUmemAllocationProp prop = Properties(CU_MEM_HANDLE_TYPE_FABRIC);
  CUmemGenericAllocationHandle handle;
  if (!TRY(cuMemCreate(&handle, piece, &prop, 0))) return;
  CUmemFabricHandle bytes = {};
  for (int i = 0; i < 2; ++i) {
    if (TRY(cuMemExportToShareableHandle(&bytes, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0))) {
      Hex("fabric handle", &bytes, sizeof bytes);
    }
  }
  TRY(cuMemRelease(handle));
}

int Exporter(int socket) {
  Start();
  const CUmemAllocationProp prop = Properties(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  size_t piece = 0;
  DRV(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  Send(socket, piece);
  CUmemGenericAllocationHandle handles[2];
  for (int i = 0; i < 2; ++i) {
    DRV(cuMemCreate(&handles[i], piece, &prop, 0));
    const CUdeviceptr at = Map(handles[i], piece, i == 0 ? "memory A" : "memory B");
    DRV(cuMemsetD32(at, 100 + unsigned(i), 1));
    DRV(cuCtxSynchronize());
  }
  for (int i = 0; i < 3; ++i) {
    const char* const what[] = {"memory A", "memory B", "memory A again"};
    int fd = -1;
    DRV(cuMemExportToShareableHandle(&fd, handles[i % 2], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     0));
    Give(socket, what[i], fd, 40 + i, fd);
  }
  CUstream stream;
  DRV(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 2; ++i) {
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    props.location = prop.location;
    CUmemoryPool pool;
    DRV(cuMemPoolCreate(&pool, &props));
    CUdeviceptr first, second;
    DRV(cuMemAllocFromPoolAsync(&first, 1 << 20, pool, stream));
    DRV(cuMemAllocFromPoolAsync(&second, 1 << 20, pool, stream));
    DRV(cuStreamSynchronize(stream));
    int fd = -1;
    DRV(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemPoolPtrExportData data = {}, again = {}, other = {};
    DRV(cuMemPoolExportPointer(&data, first));
    DRV(cuMemPoolExportPointer(&again, first));
    DRV(cuMemPoolExportPointer(&other, second));
    Hex("first pointer", &data, sizeof data);
    Hex("first pointer again", &again, sizeof again);
    Hex("second pointer", &other, sizeof other);
    Give(socket, i == 0 ? "pool P" : "pool Q", fd, 50 + i, data);
  }
  Fabric(piece);
  Send(socket, 'n');
  return 0;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 4;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::exit(Importer(ends[1]));
  }
  close(ends[1]);
  const int result = Exporter(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("importer ended with %x\n", unsigned(status));
  return result;
}
