program library
  real :: x
  character(len=8) :: word
  call random_seed()
  call random_number(x)
  if (x >= 0 .and. x < 1) print '(a)', "random ok"
  open(unit=10, status="scratch")
  write(10, '(a)') "ok"
  rewind(10)
  read(10, '(a)') word
  close(10)
  print '(2a)', "temp ", trim(word)
end program library
