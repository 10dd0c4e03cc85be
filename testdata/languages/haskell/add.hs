main :: IO ()
main = interact $ (++ "\n") . show . sum . map (read :: String -> Integer) . words
