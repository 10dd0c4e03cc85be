module Other (text) where

text :: String
text = "from another file"
