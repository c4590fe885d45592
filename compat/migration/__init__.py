"""Old against new: does the migrated middleware still do the same?"""
