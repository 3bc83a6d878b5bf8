print('high')
