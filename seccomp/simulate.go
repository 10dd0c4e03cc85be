package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The return values of a filter: an action in the upper half, data such as an error
// number in the lower half (include/uapi/linux/seccomp.h).
const (
	retKillProcess = 0x80000000
	retKillThread  = 0x00000000
	retTrap        = 0x00030000
	retErrno       = 0x00050000
	retNotify      = 0x7fc00000
	retTrace       = 0x7ff00000
	retLog         = 0x7ffc0000
	retAllow       = 0x7fff0000
)

// insnSize is the size of struct sock_filter: code u16, jt u8, jf u8, k u32,
// in native byte order, which is little-endian on both of our architectures.
const insnSize = 8

// Simulate runs a compiled filter on one call as the kernel would, and returns
// its raw answer and the number of instructions executed. It supports the classic
// BPF that seccomp admits. Anything else, and any filter that runs past its end,
// is an error, as it is in the kernel.
func Simulate(filter []byte, c Call) (ret uint32, steps int, err error) {
	if len(filter) == 0 || len(filter)%insnSize != 0 {
		return 0, 0, fmt.Errorf("simulate filter: %d bytes are no whole number of instructions", len(filter))
	}

	var a, x uint32
	var mem [16]uint32
	data := c.data()
	n := len(filter) / insnSize
	for pc := 0; pc < n; pc++ {
		steps++
		insn := filter[pc*insnSize:]
		code := binary.LittleEndian.Uint16(insn)
		jt, jf := int(insn[2]), int(insn[3])
		k := binary.LittleEndian.Uint32(insn[4:])
		switch class := code & 7; class {
		case 0, 1: // LD, LDX
			v, err := load(code, k, &data, &mem)
			if err != nil {
				return 0, steps, err
			}
			if class == 0 {
				a = v
			} else {
				x = v
			}

		case 2, 3: // ST, STX
			if k >= uint32(len(mem)) {
				return 0, steps, fmt.Errorf("simulate filter: store to cell %d", k)
			}
			mem[k] = a
			if class == 3 {
				mem[k] = x
			}

		case 4: // ALU
			if a, err = alu(code, a, operand(code, k, x)); err != nil {
				return 0, steps, err
			}
		case 5: // JMP
			off, err := jump(code, a, operand(code, k, x), jt, jf)
			if err != nil {
				return 0, steps, err
			}
			if code&0xf0 == 0 {
				off = int(k)
			}
			pc += off

		case 6: // RET
			if code&0x18 == 0x10 {
				return a, steps, nil
			}
			return k, steps, nil

		case 7: // MISC
			if code&0x80 == 0 {
				x = a // TAX
			} else {
				a = x // TXA
			}
		}
	}

	return 0, steps, errors.New("simulate filter: ran off its end")
}

// data lays c out as struct seccomp_data.
func (c Call) data() [64]byte {
	var d [64]byte
	binary.LittleEndian.PutUint32(d[0:], uint32(c.Nr))
	binary.LittleEndian.PutUint32(d[4:], c.Arch)
	for i, v := range c.Args {
		binary.LittleEndian.PutUint64(d[16+8*i:], v)
	}
	return d
}

func load(code uint16, k uint32, data *[64]byte, mem *[16]uint32) (uint32, error) {
	switch mode, size := code&0xe0, code&0x18; {
	case mode == 0x00: // IMM
		return k, nil
	case mode == 0x20 && size == 0 && code&7 == 0 && k%4 == 0 && k < 64: // ABS, word
		return binary.LittleEndian.Uint32(data[k:]), nil
	case mode == 0x60 && k < uint32(len(mem)): // MEM
		return mem[k], nil
	case mode == 0x80: // LEN
		return 64, nil
	}
	return 0, fmt.Errorf("simulate filter: load %#x of %d", code, k)
}

func operand(code uint16, k, x uint32) uint32 {
	if code&8 != 0 {
		return x
	}
	return k
}

func alu(code uint16, a, v uint32) (uint32, error) {
	switch code & 0xf0 {
	case 0x00:
		return a + v, nil
	case 0x10:
		return a - v, nil
	case 0x20:
		return a * v, nil
	case 0x30:
		if v != 0 {
			return a / v, nil
		}
	case 0x40:
		return a | v, nil
	case 0x50:
		return a & v, nil
	case 0x60:
		return a << (v & 31), nil
	case 0x70:
		return a >> (v & 31), nil
	case 0x80:
		return -a, nil
	case 0xa0:
		return a ^ v, nil
	}

	return 0, fmt.Errorf("simulate filter: arithmetic %#x with %d", code, v)
}

func jump(code uint16, a, v uint32, jt, jf int) (int, error) {
	var yes bool
	switch code & 0xf0 {
	case 0x00:
		return 0, nil
	case 0x10:
		yes = a == v
	case 0x20:
		yes = a > v
	case 0x30:
		yes = a >= v
	case 0x40:
		yes = a&v != 0
	default:
		return 0, fmt.Errorf("simulate filter: jump %#x", code)
	}

	if yes {
		return jt, nil
	}
	return jf, nil
}

// AnswerOf decodes a filter's raw answer. Kill-thread, trap and trace are errors:
// we never emit them, and kill-thread would leave the rest of a program running.
func AnswerOf(ret uint32) (Answer, error) {
	switch ret & 0xffff0000 {
	case retAllow:
		return Allow(), nil
	case retErrno:
		return Fail(Errno(ret & 0xffff)), nil
	case retNotify:
		return Kill(), nil
	case retKillProcess:
		return Answer{Action: ActKillProcess}, nil
	case retLog:
		return Answer{Action: ActLog}, nil
	}

	return Answer{}, fmt.Errorf("read answer %#x: not an action we emit", ret)
}

// Combine returns the raw answer the kernel gives when two filters are loaded,
// newest first: the stricter action, and on a tie the newest filter's
// (kernel/seccomp.c, seccomp_run_filters).
func Combine(newest, older uint32) uint32 {
	if int32(older&0xffff0000) < int32(newest&0xffff0000) {
		return older
	}
	return newest
}
