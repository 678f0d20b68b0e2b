package winetest

import "encoding/binary"

// Offsets in the library: one section holds code and exports.
const (
	sectionAt = 0x1000 // in memory
	rawAt     = 0x200  // in the file
	exportsAt = sectionAt + 0x80
)

// prng is ProcessPrng(buffer, length) for amd64: a linear congruential generator (Knuth's MMIX), seeded with the time-stamp counter.
// It is good enough to start a test, and for nothing else.
var prng = []byte{
	0x49, 0x89, 0xd0, // mov r8, rdx
	0x0f, 0x31, // rdtsc
	0x48, 0xc1, 0xe2, 0x20, // shl rdx, 32
	0x48, 0x09, 0xd0, // or rax, rdx
	0x49, 0xb9, 0x2d, 0x7f, 0x95, 0x4c, 0x2d, 0xf4, 0x51, 0x58, // mov r9, 6364136223846793005
	0x4d, 0x85, 0xc0, // next: test r8, r8
	0x74, 0x18, // jz done
	0x49, 0x0f, 0xaf, 0xc1, // imul rax, r9
	0x48, 0xff, 0xc0, // inc rax
	0x48, 0x89, 0xc2, // mov rdx, rax
	0x48, 0xc1, 0xea, 0x38, // shr rdx, 56
	0x88, 0x11, // mov [rcx], dl
	0x48, 0xff, 0xc1, // inc rcx
	0x49, 0xff, 0xc8, // dec r8
	0xeb, 0xe3, // jmp next
	0xb8, 1, 0, 0, 0, // done: mov eax, 1
	0xc3, // ret
}

// shim returns a bcryptprimitives.dll with one function, ProcessPrng. The format is that of
// https://learn.microsoft.com/windows/win32/debug/pe-format.
func shim() []byte {
	file := make([]byte, 2*rawAt)
	le := binary.LittleEndian
	copy(file, "MZ")
	le.PutUint32(file[0x3c:], 0x40) // where the headers are
	h := file[0x40:]
	copy(h, "PE\x00\x00")
	le.PutUint16(h[4:], 0x8664)  // amd64
	le.PutUint16(h[6:], 1)       // sections
	le.PutUint16(h[20:], 0xf0)   // size of the optional header
	le.PutUint16(h[22:], 0x2022) // a library, for large addresses
	o := h[24:]
	le.PutUint16(o[0:], 0x20b)        // 64 bits
	le.PutUint32(o[4:], rawAt)        // size of code
	le.PutUint32(o[20:], sectionAt)   // base of code
	le.PutUint64(o[24:], 0x180000000) // image base
	le.PutUint32(o[32:], 0x1000)      // alignment in memory
	le.PutUint32(o[36:], rawAt)       // and in the file
	le.PutUint16(o[40:], 6)           // operating system
	le.PutUint16(o[48:], 6)           // subsystem's version
	le.PutUint32(o[56:], 0x2000)      // size of the image
	le.PutUint32(o[60:], rawAt)       // and of the headers
	le.PutUint16(o[68:], 3)           // console
	le.PutUint16(o[70:], 0x160)       // may be moved
	le.PutUint64(o[72:], 0x100000)
	le.PutUint64(o[80:], 0x1000)
	le.PutUint64(o[88:], 0x100000)
	le.PutUint64(o[96:], 0x1000)
	le.PutUint32(o[108:], 16) // directories, of which the first is exports
	le.PutUint32(o[112:], exportsAt)
	le.PutUint32(o[116:], 0x80)
	s := h[24+0xf0:]
	copy(s, ".text")
	le.PutUint32(s[8:], rawAt)
	le.PutUint32(s[12:], sectionAt)
	le.PutUint32(s[16:], rawAt)
	le.PutUint32(s[20:], rawAt)
	le.PutUint32(s[36:], 0x60000020) // code, to be read and run
	copy(file[rawAt:], prng)
	exports(file[rawAt+exportsAt-sectionAt:])
	return file
}

// exports returns the export directory of one function.
func exports(x []byte) {
	le := binary.LittleEndian
	le.PutUint32(x[12:], exportsAt+0x38) // the library's name
	le.PutUint32(x[16:], 1)              // first ordinal
	le.PutUint32(x[20:], 1)              // functions
	le.PutUint32(x[24:], 1)              // names
	le.PutUint32(x[28:], exportsAt+0x28) // addresses of functions
	le.PutUint32(x[32:], exportsAt+0x2c) // of names
	le.PutUint32(x[36:], exportsAt+0x30) // of ordinals
	le.PutUint32(x[0x28:], sectionAt)
	le.PutUint32(x[0x2c:], exportsAt+0x58)
	copy(x[0x38:], "bcryptprimitives.dll\x00")
	copy(x[0x58:], "ProcessPrng\x00")
}
