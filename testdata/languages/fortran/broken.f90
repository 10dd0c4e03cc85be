program broken
  integer :: n
  n = "no number"
end program broken
