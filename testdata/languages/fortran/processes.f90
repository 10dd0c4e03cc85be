module bell
  logical, volatile :: rang = .false.
contains
  subroutine ring()
    rang = .true.
  end subroutine ring
end module bell

program processes
  use bell
  implicit none
  integer :: code, remaining, state
  character(len=32) :: word

  call execute_command_line("exit 3", exitstat=code)
  if (code /= 3) error stop "exit code"
  call system("exit 4", code)
  if (code / 256 /= 4 .and. code /= 4) error stop "system"
  call execute_command_line("echo through | tr a-z A-Z | cat > piped", exitstat=code)
  open(unit=10, file="piped")
  read(10, '(a)') word
  close(10, status="delete")
  if (word /= "THROUGH") error stop "pipe"
  call execute_command_line("sleep 9 & kill $! && wait $!", exitstat=code)
  if (code /= 143) error stop "kill"
  call execute_command_line("echo later > later", wait=.false., cmdstat=state)
  if (state > 0) error stop "wait=.false."

  call alarm(1, ring, remaining)
  do while (.not. rang)
  end do
  rang = .false.
  call signal(10, ring, state)
  if (kill(getpid(), 10) /= 0 .or. .not. rang) error stop "signal"
  if (getpid() <= 0 .or. getuid() < 0 .or. getgid() < 0) error stop "ids"
  call get_environment_variable("HOME", word, status=state)
  if (state /= 0) error stop "HOME"
  print '(a)', "processes ok"
end program processes
