local node, frame, most, most_bytes = unpack(ARGV)
if not is_alive(node) then
  bury(node)
  return 0
end
return put(node, frame, tonumber(most), tonumber(most_bytes)) and 1 or -1
