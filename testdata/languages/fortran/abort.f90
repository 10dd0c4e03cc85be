program aborts
  call abort()
end program aborts
