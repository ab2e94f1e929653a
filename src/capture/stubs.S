// The exported driver functions, one stub a row of hooks.def, and what stands in for dlsym and dlvsym.
//
// A stub only jumps: arguments, stack and return address stay the caller's, so any signature passes, and
// the handler sees the program's own call site. ss_entries[row] is a handler, or for a counted row the
// driver's function once it is known (ss_unresolved before that; %eax tells it the row).

        .text
        .set    row, 0

        .macro  stub name
        .globl  \name
        .type   \name, @function
        .balign 16
\name:
stub_\name:
        .cfi_startproc
        endbr64
        .endm

        .macro  jump_to_entry name
        movl    $row, %eax
        jmp     *ss_entries+8*row(%rip)
        .cfi_endproc
        .size   \name, . - \name
        .set    row, row + 1
        .endm

        .macro  modelled name
        stub    \name
        jump_to_entry \name
        .endm

        // The flag is tested first: a store on every call would bounce its line between threads.
        .macro  counted name
        stub    \name
        movq    (%rsp), %r11
        subq    ss_nccl_begin(%rip), %r11
        cmpq    ss_nccl_bytes(%rip), %r11
        jb      2f
        lock incq ss_calls+8*row(%rip)
        cmpb    $0, ss_counted_call_seen(%rip)
        jne     1f
        movb    $1, ss_counted_call_seen(%rip)
        jmp     1f
2:      lock incq ss_nccl_own_calls+8*row(%rip) // first: readers go the other way
        lock incq ss_calls+8*row(%rip)
1:
        jump_to_entry \name
        .endm

#define MODELLED(symbol, base, since, per_thread, handler) modelled symbol
#define COUNTED(symbol, base, since, per_thread, reason) counted symbol
#include "src/capture/hooks.def"
#undef MODELLED
#undef COUNTED

        .hidden ss_entries
        .hidden ss_calls
        .hidden ss_counted_call_seen
        .hidden ss_nccl_own_calls
        .hidden ss_nccl_begin
        .hidden ss_nccl_bytes
        .hidden ss_resolve

// First call of a counted function: find the driver's, then go there with all registers as they were.
        .globl  ss_unresolved
        .hidden ss_unresolved
        .type   ss_unresolved, @function
        .balign 16
ss_unresolved:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        subq    $136, %rsp
        .cfi_adjust_cfa_offset 136
        movups  %xmm0, (%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        movl    %eax, %edi
        call    ss_resolve
        movq    %rax, %r11
        movups  (%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
        addq    $136, %rsp
        .cfi_adjust_cfa_offset -136
        popq    %r9
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%r11
        .cfi_endproc
        .size   ss_unresolved, . - ss_unresolved

// dlsym(handle, name), dlvsym(handle, name, version). glibc finds the caller of RTLD_NEXT by the return
// address, so everything but a name of the driver's or NCCL's on an ordinary handle is a tail jump: a C function that calls
// on would make us the caller, and other preloads would find themselves again and again.
        .hidden ss_real_dlsym
        .hidden ss_real_dlvsym
        .hidden ss_find_real_dlsym
        .hidden ss_dlsym_driver
        .hidden ss_dlvsym_driver
        .hidden ss_absent_by_default

        .macro  call_keeping_arguments function
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        movq    %rsi, %rdi
        call    \function
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        .endm

        .macro  lookup name, real, driver
        .globl  \name
        .type   \name, @function
        .balign 16
\name:
        .cfi_startproc
        endbr64
        testq   %rsi, %rsi
        jz      1f
        cmpb    $'c', (%rsi)
        je      5f
        cmpb    $'n', (%rsi)            // nccl...
        jne     1f
        cmpb    $'c', 1(%rsi)
        je      2f
        jmp     1f
5:      cmpb    $'u', 1(%rsi)
        je      2f
1:      movq    \real(%rip), %rax
        testq   %rax, %rax
        jz      3f
        jmp     *%rax
2:      cmpq    $-1, %rdi               // RTLD_NEXT
        je      1b
        testq   %rdi, %rdi              // RTLD_DEFAULT
        jz      4f
        jmp     \driver
3:      call_keeping_arguments ss_find_real_dlsym
        jmp     1b
4:      call_keeping_arguments ss_absent_by_default
        testl   %eax, %eax
        jz      1b
        xorl    %eax, %eax
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        lookup  dlsym, ss_real_dlsym, ss_dlsym_driver
        lookup  dlvsym, ss_real_dlvsym, ss_dlvsym_driver

// Addresses of the stubs by row, under their local names: the exported ones may be somebody else's.
        .section .data.rel.ro, "aw"
        .balign 8
        .globl  ss_stubs
        .hidden ss_stubs
ss_stubs:
#define MODELLED(symbol, base, since, per_thread, handler) .quad stub_##symbol
#define COUNTED(symbol, base, since, per_thread, reason) .quad stub_##symbol
#include "src/capture/hooks.def"
#undef MODELLED
#undef COUNTED

        .section .note.GNU-stack, "", @progbits
