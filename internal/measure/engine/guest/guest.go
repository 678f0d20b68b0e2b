// Package guest makes what a small virtual machine boots from: a Linux kernel of
// this machine's distribution, unpacked, and a first root file system (initramfs)
// that holds one program and the few kernel modules which that needs.
//
// No image is downloaded or installed: the kernel is one that is there (/boot,
// /usr/lib/modules) or that the caller names, and the file system is an archive of
// some megabytes (cpio, "newc") that is written in milliseconds.
//
// Easily got wrong: a kernel and its modules have to be of the same build, and a
// distribution's kernel has next to nothing built in. Which modules a module needs is
// in modules.dep, and what it asks for by other names in modules.softdep and
// modules.alias (depmod(8)).
package guest
