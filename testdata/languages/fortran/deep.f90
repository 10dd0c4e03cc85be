program main
  print '(i0)', deep(100000)
contains
  recursive integer function deep(n) result(depth)
    integer, intent(in) :: n
    depth = 0
    if (n > 0) depth = 1 + deep(n - 1)
  end function deep
end program main
