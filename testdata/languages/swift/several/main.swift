print(seven(), text)
