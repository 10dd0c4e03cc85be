program child
  integer :: code
  call execute_command_line("echo from a child", exitstat=code)
  if (code /= 0) error stop "echo failed"
end program child
