program loop
  integer, volatile :: i
  i = 0
  do
    i = ieor(i, 1)
  end do
end program loop
