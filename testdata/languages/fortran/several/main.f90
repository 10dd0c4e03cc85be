program main
  use seven
  print '(i0, a)', count_of(), text
end program main
