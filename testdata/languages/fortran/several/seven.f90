module seven
  use words
contains
  integer function count_of()
    count_of = 7
  end function count_of
end module seven
