// Package guest creates what a small virtual machine boots from: a Linux kernel of this machine's distribution,
// unpacked, and a first root file system (initramfs) that holds one program and the few kernel modules that it needs.
//
// No image is downloaded or installed. The kernel is one that is already there (/boot, /usr/lib/modules) or that the
// caller names, and the file system is an archive of some megabytes (cpio, "newc") that is written in milliseconds.
//
// Easily got wrong: a kernel and its modules must be of the same build, and a distribution's kernel has almost nothing
// built in. modules.dep lists which modules a module needs; modules.softdep and modules.alias list what it asks for by
// other names (depmod(8)).
package guest
