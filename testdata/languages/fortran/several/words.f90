module words
  character(len=*), parameter :: text = " from another file"
end module words
