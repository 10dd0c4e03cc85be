import Other (text)

main :: IO ()
main = putStrLn ("7 " ++ text)
