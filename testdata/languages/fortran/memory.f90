program memory
  type block
    integer, pointer :: numbers(:)
    type(block), pointer :: next
  end type block
  type(block), pointer :: last, one
  nullify(last)
  do
    allocate(one)
    allocate(one%numbers(250000))
    one%numbers = 1
    one%next => last
    last => one
  end do
end program memory
