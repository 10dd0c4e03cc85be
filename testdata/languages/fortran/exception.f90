program exception
  error stop "boom"
end program exception
