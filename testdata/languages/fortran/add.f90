program add
  integer :: a, b
  read *, a, b
  print '(i0)', a + b
end program add
