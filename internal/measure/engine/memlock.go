package engine

// LockCapability lets a process lock memory without a limit, which io_uring's
// registered buffers need (capabilities(7)). It gives no access to anything.
const LockCapability = "IPC_LOCK"
