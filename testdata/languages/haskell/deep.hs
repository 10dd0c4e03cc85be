deep :: Int -> Integer
deep 0 = 0
deep n = 1 + deep (n - 1)

main :: IO ()
main = print (deep 100000)
