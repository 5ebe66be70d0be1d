//! Labs on this kernel. Without the right to make one, or without a part of the kernel that they
//! need, these tests say so and pass.

mod lab;
